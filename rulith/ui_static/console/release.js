// The release that fits this gateway, and how another machine gets it. Draws what it is given; fetches nothing.
import { h } from "./views.js";

export function release(admin) {
  const { version, sha256 } = admin.release;
  return [h("section", { "aria-labelledby": "release" }, h("h2", { id: "release" }, "The release for other machines"),
    h("p", {}, "Agents and Workers of this gateway run ", h("strong", {}, `rulith.pyz ${version}`), ", the very file that it runs itself. A client that does not fit is refused and told this one."),
    h("dl", { class: "values" }, h("dt", {}, "Version"), h("dd", {}, version), h("dt", {}, "SHA-256"), h("dd", { class: "mono" }, sha256 || "this gateway runs from a checkout; build the file with build_pyz.py"), h("dt", {}, "Address"), h("dd", { class: "mono" }, admin.gatewayUrl)),
    h("p", {}, "Copy the file there, by whatever way you trust, and compare:"),
    h("pre", { class: "mono", tabindex: "0" }, "python3 rulith.pyz version"),
    h("p", {}, "It needs Python 3.10 or newer and nothing else. The three variables of a Worker stand under ", h("a", { href: "#connections" }, "Connections"), "; a program that speaks for an Agent gets its lines under ", h("a", { href: "#agents" }, "Agents"), ", or asks by itself under ", h("a", { href: "#access" }, "Access"), "."))];
}
