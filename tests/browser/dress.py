"""A page in three dresses (a phone, 200 % zoom, a wide window) and the keyboard as its only hand.

What must hold in each: nothing scrolls sideways or is cut off, and whatever takes the focus is in view, uncovered and marked.
"""

from __future__ import annotations

from tests.browser.axe import violations
from tests.browser.real_bench import expect

PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": False}
ZOOMED = {"width": 640, "height": 400, "deviceScaleFactor": 2, "mobile": False}       # 1280×800 at 200 %
WIDE = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
TABS_MAX = 150
FAULTS = """async () => {
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  const scope = document.querySelector('dialog[open]') ?? document.body, faults = [];
  const name = (each) => `${each.localName}.${each.getAttribute('class') ?? ''} “${(each.getAttribute('aria-label') ?? each.textContent ?? '').trim().slice(0, 50)}”`;
  const isShown = (each) => each.checkVisibility({ visibilityProperty: true }) && !each.closest('[inert], .sr, .skip');
  for (const each of [document.documentElement, scope, ...scope.querySelectorAll('*')]) {
    if (!isShown(each) || each.closest('pre, svg, select')) continue;
    if (!/^(INPUT|TEXTAREA)$/.test(each.tagName) && getComputedStyle(each).overflowX !== 'visible' && each.scrollWidth > each.clientWidth + 1) faults.push(`is ${each.scrollWidth} wide in ${each.clientWidth}: ${name(each)}`);
    const { left, right, width } = each.getBoundingClientRect();
    if (width > 0 && (left < -1 || right > document.documentElement.clientWidth + 1)) faults.push(`stands from ${left} to ${right}: ${name(each)}`);
  }
  const before = document.activeElement;
  for (const each of scope.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')) {
    const seen = each.matches('input.sr') ? each.closest('label') : each;
    if (!isShown(seen) || each.disabled || each.tabIndex < 0) continue;
    each.focus();
    if (document.activeElement !== each) { faults.push(`takes no focus: ${name(each)}`); continue; }
    const { outlineStyle, boxShadow } = getComputedStyle(seen), box = seen.getClientRects()[0];
    if (outlineStyle === 'none' && boxShadow === 'none') faults.push(`has the focus and no mark: ${name(each)}`);
    const [left, right] = [Math.max(0, box.left), Math.min(innerWidth, box.right)], [top, bottom] = [Math.max(0, box.top), Math.min(innerHeight, box.bottom)];
    const points = [left + 4, (left + right) / 2, right - 4].map((x) => document.elementFromPoint(x, (top + Math.min(bottom, top + 40)) / 2));
    if (bottom - top < Math.min(box.height, 24) - 1 || !points.some((at) => seen.contains(at) || at?.contains(seen))) faults.push(`has the focus out of view, behind ${points[1] && name(points[1])}: ${name(each)}`);
  }
  before?.focus({ preventScroll: true });
  return faults;
}"""


class Hands:
    """Whoever has no pointer: Tab, Enter, letters, and what stands on the page."""

    def __init__(self, page) -> None:
        self.page = page

    def reach(self, target):
        """Tab until `target` has the focus."""
        expect(target).to_be_visible()
        for _ in range(TABS_MAX):
            if target.evaluate("(each) => each === document.activeElement"):
                return target
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not lead to {target}; it is at {self.focus()}")

    def press(self, target) -> None:
        self.reach(target)
        self.page.keyboard.press("Enter")

    def type(self, target, text: str) -> None:
        self.reach(target)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def keys(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def focus(self) -> str:
        return self.page.evaluate("document.activeElement?.outerHTML.slice(0, 200)")


class Dresses:
    """Looks at a page in every dress, and leaves it in the phone's."""

    def __init__(self, page) -> None:
        self.page = page
        self._session = page.context.new_cdp_session(page)
        self._wear(PHONE, "dark")

    def _wear(self, dress: dict, scheme: str) -> None:
        self._session.send("Emulation.setDeviceMetricsOverride", dress)
        self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")

    def look(self, place: str) -> None:
        found = {"phone": violations(self.page) + self.page.evaluate(FAULTS)}
        for name, dress, scheme in (("zoomed", ZOOMED, "dark"), ("wide", WIDE, "light")):
            self._wear(dress, scheme)
            found[name] = self.page.evaluate(FAULTS)
        self._wear(PHONE, "dark")
        assert not any(found.values()), "\n".join([place, *(f"{name}: {fault}" for name, faults in found.items() for fault in faults)])
