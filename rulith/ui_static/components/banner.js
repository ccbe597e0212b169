/** One line across the top when something the page depends on does not answer. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { ago, moment, span } from "../lib/time.js";

const SETTLES_MS = 1000;     // what is over sooner is not worth a word

const line = (meaning, mark, ...words) =>
  h("div", { class: `banner is-${meaning}`, role: "status" }, icon(mark), h("p", {}, words));

export function banner(s) {
  if (s.phase !== "ready") return null;
  if (!s.feed.live && s.feed.heardAt > 0 && s.now - s.feed.heardAt > SETTLES_MS) {
    const heard = ago(new Date(s.feed.heardAt).toISOString(), s.now);
    return line("bad", "failed", `The workbench does not answer: last heard ${heard}, retrying. `,
      "If you stopped it, start it again with ", h("code", {}, "rulith start"), " and open the address it prints.");
  }
  const gateway = s.bench?.gateway;
  if (!gateway || gateway.state === "online") return null;
  if (gateway.state === "signed_out") {
    return s.route.screen === "account" ? null : line("waiting", "waiting", `This computer is not signed in at ${gateway.url}. `, h("a", { href: "#/account" }, "Sign in"));
  }
  const lasts = s.now - moment(gateway.since);
  if (gateway.state === "starting") {
    return lasts > SETTLES_MS ? line("running", "running", `The gateway is starting (${span(lasts)}).`) : null;
  }
  if (gateway.state === "restarting") {
    const since = lasts < SETTLES_MS ? "just now" : `${span(lasts)} ago`;
    return line("waiting", "waiting", `The gateway stopped by itself ${since} and is being started again. `,
      "Nothing new runs until it answers. ", gateway.detail);
  }
  return line("bad", "failed", `The gateway does not answer (since ${span(lasts)}). `, gateway.detail);
}
