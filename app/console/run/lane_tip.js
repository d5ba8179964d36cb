/** What is pointed at or focused in the lanes, in words beside it. Readers hear the same as its name. */

import { fill, h, set } from "../dom.js";
import { linesOf } from "./lane_words.js";

const BESIDE_PX = 12;

export function laneTip(scroller, holder, told) {
  const tip = h("div", { class: "lane-tip", hidden: true, "aria-hidden": "true" });
  holder.append(tip);
  scroller.addEventListener("pointerover", ({ target, clientX, clientY }) => show(target, clientX, clientY));
  scroller.addEventListener("pointermove", ({ clientX, clientY }) => tip.hidden || move(clientX, clientY));
  scroller.addEventListener("pointerleave", hide);
  scroller.addEventListener("scroll", hide);
  scroller.addEventListener("focusin", ({ target }) => {
    const { left, bottom } = target.getBoundingClientRect();
    if (target.matches(":focus-visible")) show(target, Math.max(left, scroller.getBoundingClientRect().left), bottom);
  });
  scroller.addEventListener("focusout", hide);
  scroller.addEventListener("keydown", ({ key }) => key === "Escape" && hide());

  function show({ item }, x, y) {
    if (!item) return hide();
    const { fold, now } = told();
    const [name, ...more] = linesOf(item, fold, now);
    fill(
      tip,
      h("strong", {}, name),
      more.map((line) => h("span", {}, line)),
    );
    set(tip, { hidden: false });
    move(x, y);
  }

  function move(x, y) {
    const { offsetWidth, offsetHeight } = tip;
    const left = Math.max(4, Math.min(x + BESIDE_PX, innerWidth - offsetWidth - 8));
    const top = y + BESIDE_PX + offsetHeight > innerHeight ? y - BESIDE_PX - offsetHeight : y + BESIDE_PX;
    set(tip, { style: { left: `${left}px`, top: `${top}px` } });
  }

  function hide() {
    set(tip, { hidden: true });
  }
}
