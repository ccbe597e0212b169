/** The address names the place: #/<instance>/<tab>/<case>?fact=<id>. Reload, back and a copied link work. */

export const TABS = ["now", "cases", "board", "worker"];

export function read(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?");
  const [instance = "", tab = "now", root = ""] = path.split("/").map(decodeURIComponent);
  return { instance, tab: TABS.includes(tab) ? tab : "now", case: root, fact: new URLSearchParams(search).get("fact") ?? "" };
}

export function write(route) {
  const path = [route.instance, route.tab, route.case].filter((part, index) => index < 2 || part).map(encodeURIComponent).join("/");
  return `#/${path}${route.fact ? `?${new URLSearchParams({ fact: route.fact })}` : ""}`;
}

export const link = (route, changes) => write({ ...route, ...changes });
