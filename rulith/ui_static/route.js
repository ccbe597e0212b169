/** The address names the place: #/<instance>/<tab>/<case>?fact=<id>&talk=<conversation>. Reload, back and a copied link work. */

export const TABS = ["now", "cases", "board", "worker"];

export function read(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?");
  const [instance = "", tab = "now", root = ""] = path.split("/").map(decodeURIComponent);
  const asked = new URLSearchParams(search);
  return { instance, tab: TABS.includes(tab) ? tab : "now", case: root, fact: asked.get("fact") ?? "", talk: asked.get("talk") ?? "" };
}

export function write(route) {
  const path = [route.instance, route.tab, route.case].filter((part, index) => index < 2 || part).map(encodeURIComponent).join("/");
  const asked = new URLSearchParams(["fact", "talk"].filter((name) => route[name]).map((name) => [name, route[name]])).toString();
  return `#/${path}${asked ? `?${asked}` : ""}`;
}

export const link = (route, changes) => write({ ...route, ...changes });
