/** Where a person writes to the Agent. In this release the Agent takes jobs, not conversations, and the field says so. */

import { h } from "../lib/dom.js";

export const composer = () =>
  h("form", { class: "composer", "aria-label": "Message", onsubmit: (event) => event.preventDefault() },
    h("label", { class: "sr", for: "message" }, "Message to the Agent"),
    h("textarea", { id: "message", rows: 1, disabled: true, placeholder: "Not in this release", "aria-describedby": "composer-why" }),
    h("button", { type: "submit", class: "quiet-button", disabled: true }, "Send message"),
    h("p", { class: "quiet hint", id: "composer-why" },
      "This release serves no conversations on this page; a later one does. Use the calculation above, or ",
      h("code", {}, "rulith agent"), " on a terminal."));
