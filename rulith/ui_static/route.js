/**
 * The address names the place: #/<instance>/<tab>/<case>?fact=<id>&talk=<conversation>&turn=<message>, or #/<screen>/… of a screen
 * that is loaded later. Reload, back and a copied link work.
 */

import { isScreen } from "./screens.js";

export const TABS = ["now", "cases", "board", "worker"];
const NOWHERE = { instance: "", tab: "now", case: "", fact: "", talk: "", turn: "", screen: "", at: [], query: {} };

/** A part of an address as it was meant; one that is no encoding stays as it stands. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function read(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?");
  const [first = "", ...rest] = path.split("/").map(decoded);
  const asked = new URLSearchParams(search);
  if (isScreen(first)) return { ...NOWHERE, screen: first, at: rest, query: Object.fromEntries(asked) };
  const [tab = "now", root = ""] = rest;
  return { ...NOWHERE, instance: first, tab: TABS.includes(tab) ? tab : "now", case: root, fact: asked.get("fact") ?? "", talk: asked.get("talk") ?? "", turn: asked.get("turn") ?? "" };
}

export function write(route) {
  const path = [route.instance, route.tab, route.case].filter((part, index) => index < 2 || part).map(encodeURIComponent).join("/");
  const asked = new URLSearchParams(["fact", "talk", "turn"].filter((name) => route[name]).map((name) => [name, route[name]])).toString();
  return `#/${path}${asked ? `?${asked}` : ""}`;
}

export const link = (route, changes) => write({ ...route, ...changes });
