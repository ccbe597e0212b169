/** One line across the top when something the page depends on does not answer. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { ago, span, moment } from "../lib/time.js";

const line = (meaning, mark, ...words) => h("div", { class: `banner is-${meaning}`, role: "status" }, icon(mark), h("p", {}, words));

export function banner(s) {
  if (s.phase !== "ready") return null;
  if (!s.feed.live && s.feed.heardAt > 0 && s.now - s.feed.heardAt > 1500) {
    return line("bad", "failed", `The workbench does not answer: last heard ${ago(new Date(s.feed.heardAt).toISOString(), s.now)}, retrying. `,
      "If you stopped it, start it again with ", h("code", {}, "rulith start"), " and open the address it prints.");
  }
  const gateway = s.bench?.gateway;
  if (!gateway || gateway.state === "online") return null;
  const lasts = s.now - moment(gateway.since);
  const since = lasts < 1000 ? "just now" : `${span(lasts)} ago`;
  if (gateway.state === "starting") {
    return lasts > 1000 ? line("running", "running", `The gateway is starting (${span(lasts)}).`) : null;
  }
  if (gateway.state === "restarting") {
    return line("waiting", "waiting", `The gateway stopped by itself ${since} and is being started again. Nothing new runs until it answers. ${gateway.detail ?? ""}`);
  }
  return line("bad", "failed", `The gateway does not answer (since ${span(lasts)}). ${gateway.detail ?? ""}`);
}
