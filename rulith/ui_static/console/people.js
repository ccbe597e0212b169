// People: the ways in, who is here in which role, and one's own passphrase. Draws what it is given; fetches nothing.
import { field, h, only, when } from "./views.js";

const of = (id) => document.getElementById(id);
const CHOSEN = "At least 8 characters; several words are easier to keep than symbols.";

const form = (title, submit, ...rest) => h("form", { class: "sign", onsubmit: (event) => { event.preventDefault(); submit(event.target); } }, h("h2", {}, title), rest);
const passphrase = (label, props, hint) => field("passphrase", label, { type: "password", required: true, ...props }, hint);

/** Sign in, accept an invitation, or choose the first passphrase. `submit(route, body)`. */
export function ways(state, isInvited, submit) {
  if (!state.passphraseSet) {
    return form("Choose an approval passphrase", (el) => submit("setup", { code: el.code.value, passphrase: el.passphrase.value, name: el["your-name"].value }),
      h("p", {}, "Nobody has chosen one on this gateway yet. It is asked for whenever a person must decide; only its hash is kept, and no Agent or Worker ever sees it."),
      field("code", "Setup code", { autocomplete: "one-time-code", required: true, autofocus: true, spellcheck: "false", class: "mono" },
        "Eight characters, shown by the page that rulith start opened, or on the terminal of rulith gateway."),
      passphrase("New passphrase", { autocomplete: "new-password", minlength: "8" }, CHOSEN),
      field("your-name", "Your name", { autocomplete: "username", maxlength: "64", placeholder: "owner" }, "Stands in the ledger beside everything you do. Left empty, it is owner."),
      h("div", { class: "buttons" }, h("button", { class: "primary" }, "Choose this passphrase")));
  }
  if (isInvited) {
    return [form("Accept an invitation", (el) => submit("accept", { name: el["your-name"].value, code: el.code.value, passphrase: el.passphrase.value }),
      h("p", {}, "An owner of this gateway gave you a name and a code. Choose a passphrase of your own; nobody else ever learns it."),
      field("your-name", "Your name here", { autocomplete: "username", required: true, autofocus: true }),
      field("code", "Invitation code", { autocomplete: "one-time-code", required: true, spellcheck: "false", class: "mono" }, "Four groups of four characters; it works once."),
      passphrase("New passphrase", { autocomplete: "new-password", minlength: "8" }, CHOSEN),
      h("div", { class: "buttons" }, h("button", { class: "primary" }, "Choose this passphrase"))), h("p", { class: "back" }, h("a", { href: "#" }, "I have a passphrase already"))];
  }
  return [form("Sign in", (el) => submit("sign-in", { passphrase: el.passphrase.value, ...(el["your-name"] ? { name: el["your-name"].value } : {}) }),
    h("p", {}, "Decisions and everything that sets this gateway up need your approval passphrase. A sign-in acts for 15 minutes and reads for 8 hours."),
    state.nameNeeded ? field("your-name", "Your name here", { autocomplete: "username", required: true, autofocus: true }) : null,
    passphrase("Approval passphrase", { autocomplete: "current-password", autofocus: !state.nameNeeded }),
    h("div", { class: "buttons" }, h("button", { class: "primary" }, "Sign in"))), h("p", { class: "back" }, h("a", { href: "#invitation" }, "I have an invitation"))];
}

const ROLE = { viewer: "reads everything, does nothing", operator: "decides, settles, holds and ends Cases", owner: "does all of that, and sets the gateway up" };
const ROLES = Object.keys(ROLE);

const rolePicker = (id, label, chosen, props = {}) => h("div", {}, h("label", { for: id }, label),
  h("select", { id, ...props }, ROLES.map((role) => h("option", { value: role, selected: role === chosen }, role))),
  h("ul", { class: "hint" }, ROLES.map((role) => h("li", {}, `${role}: ${ROLE[role]}`))));

const isMeant = (loss, name) => window.prompt(`${loss}\nType the name to go on:\n${name}`) === name;

/** The code that is shown this one time. */
const told = ({ result }) => ({ person: result.name, title: `Code for ${result.name}`, words: "It is shown this one time; only its hash is kept here. Give it to this person alone, by a way that you trust:",
  lines: [`Console     ${window.location.origin}/console/#invitation`, `Name        ${result.name}`, `Code        ${result.code}`],
  note: `It works once, for the role ${result.role}, until ${new Date(result.expiresAt).toLocaleString([], { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" })}. The person chooses their own passphrase.` });

export function people(state, work, set, act) {
  if (!state.people) return h("p", { class: "quiet", role: "status" }, "Loading the people…");
  const show = (answer, blank = []) => { if (answer) set({ once: told(answer) }, blank); };
  return [
    h("section", { "aria-labelledby": "people" }, h("h2", { id: "people" }, "People"),
      only(state, "owner", h("ul", {}, state.people.map((row) => person(row, state, act, show))))),
    h("section", { "aria-labelledby": "invite" }, h("h2", { id: "invite" }, "Invite a person"),
      only(state, "owner", h("form", { onsubmit: async (event) => { event.preventDefault(); show(await act("person-invite", { name: of("person-name").value, role: of("person-role").value }, "Invited. Pass the code on now."), ["person-name"]); } },
        field("person-name", "Name", { required: true, maxlength: "64", autocomplete: "off" }, "It stands beside every act of this person, and names nobody else ever."),
        rolePicker("person-role", "Role", "operator"),
        h("div", { class: "buttons" }, h("button", { class: "primary" }, "Invite this person"))))),
    h("section", { "aria-labelledby": "own" }, h("h2", { id: "own" }, "Your own passphrase"),
      h("form", { onsubmit: async (event) => {
        event.preventDefault();
        if (await act("passphrase", { current: of("own-current").value, passphrase: of("own-new").value }, "Changed. Your other browsers are signed out.")) for (const id of ["own-current", "own-new"]) of(id).value = "";
      } },
        field("own-current", "Present passphrase", { type: "password", required: true, autocomplete: "current-password" }),
        field("own-new", "The new one", { type: "password", required: true, minlength: "8", autocomplete: "new-password" }, CHOSEN),
        h("div", { class: "buttons" }, h("button", {}, "Change it")))),
  ];
}

const STATE = { active: ["is-done", "● signs in"], invited: ["is-waiting", "◐ invited"], expired: ["is-bad", "✕ the code ran out"] };

function person(row, state, act, show) {
  const [mood, words] = STATE[row.state];
  const id = `role-of-${row.name}`;
  const self = row.name === state.person.name;
  return h("li", { class: "item" },
    h("h3", {}, row.name, self ? h("span", { class: "quiet" }, " (you)") : null),
    h("p", {}, h("span", { class: mood }, words), row.state === "invited" ? [" until ", when(row.expiresAt, state.now)] : null,
      h("span", { class: "quiet" }, ` · ${row.role} · added by ${row.by}, `), when(row.addedAt, state.now)),
    h("details", { id: `change-${row.name}` }, h("summary", { "aria-label": `Change ${row.name}` }, "Change"),
      h("div", { class: "stack" }, rolePicker(id, `Role of ${row.name}`, row.role),
        h("div", { class: "buttons" },
          h("button", { type: "button", "aria-label": `Give ${row.name} this role`, onclick: () => act("person-role", { name: row.name, role: of(id).value }, `${row.name} is ${of(id).value} now.`) }, "Give this role"),
          h("button", { type: "button", "aria-label": `New code for ${row.name}`, onclick: async () => { if (row.state !== "active" || isMeant("The present passphrase stops working at once; only the new code leads back in.", row.name)) show(await act("person-reset", { name: row.name }, "The old way in no longer works.")); } }, row.state === "active" ? "Reset the passphrase" : "New code"),
          h("button", { type: "button", "aria-label": `Remove ${row.name}`, onclick: () => { if (isMeant("This person no longer signs in; what they did stays under their name, which nobody else gets.", row.name)) act("person-remove", { name: row.name }, `Removed ${row.name}.`); } }, "Remove")))));
}
