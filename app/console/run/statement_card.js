/** The card of a statement: which tasks it rests on. It comes with pointer or focus, and goes with them or Escape. */

import { fill, h, set } from "../dom.js";

const GOES_AFTER_MS = 180;

export class StatementCard {
  #article;
  #content;
  #select;
  #card = h("span", { class: "statement-card", role: "group", hidden: true });
  #shown = null;
  #timer = null;

  /** `content(number)` gives what a card says, `select(number)` is told what was chosen; null for nothing. */
  constructor(article, { content, select }) {
    this.#article = article;
    this.#content = content;
    this.#select = select;
    article.addEventListener("pointerover", ({ target }) => this.#over(target));
    article.addEventListener("pointerleave", () => this.#later());
    article.addEventListener("focusin",
      ({ target }) => target.matches(".rests") && this.show(Number(target.dataset.statement)));
    article.addEventListener("focusout", ({ relatedTarget }) => article.contains(relatedTarget) || this.#later());
    article.addEventListener("click", (event) => this.#click(event));
    new ResizeObserver(() => this.#place()).observe(article);
    article.addEventListener("keydown", (event) => event.key === "Escape" && this.#shown && this.#close(event));
  }

  /** Show the card of a statement; it is marked where it stands. */
  show(number) {
    clearTimeout(this.#timer);
    if (this.#shown === number) return;
    this.hide();
    const reference = this.#reference(number);
    if (!reference) return;
    this.#shown = number;
    for (const span of this.#spans(number)) span.classList.add("lit");
    fill(this.#card, this.#content(number));
    set(this.#card, { hidden: false, "aria-label": `Statement ${number} rests on` });
    reference.after(this.#card);
    this.#place();
  }

  hide() {
    clearTimeout(this.#timer);
    this.#shown = null;
    set(this.#card, { hidden: true });
    for (const span of this.#article.querySelectorAll(".stated.lit")) span.classList.remove("lit");
  }

  #spans(number) {
    return this.#article.querySelectorAll(`.stated[data-statements~="${number}"]`);
  }

  #over(target) {
    const stated = target.closest(".stated");
    const reference = target.closest(".rests");
    if (target.closest(".statement-card")) clearTimeout(this.#timer);
    else if (reference) this.show(Number(reference.dataset.statement));
    else if (stated) this.show(Number(stated.dataset.statements.split(" ").at(-1)));
    else this.#later();
  }

  #later() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#article.querySelector(".statement-card:focus-within, .rests:focus")
      || this.hide(), GOES_AFTER_MS);
  }

  #click(event) {
    const reference = event.target.closest(".rests");
    const stated = event.target.closest(".stated");
    if (event.metaKey || event.ctrlKey || event.shiftKey
      || (!reference && (!stated || event.target.closest("a, .statement-card")))) return;
    if (!reference && !getSelection().isCollapsed) return;
    event.preventDefault();
    this.#select(reference ? Number(reference.dataset.statement) : Number(stated.dataset.statements.split(" ").at(-1)));
  }

  #close(event) {
    event.stopPropagation();
    if (this.#card.contains(document.activeElement)) this.#reference(this.#shown).focus();
    this.hide();
    this.#select(null);
  }

  #reference(number) {
    return this.#article.querySelector(`.rests[data-statement="${number}"]`);
  }

  #place() {
    if (this.#shown === null) return;
    const page = this.#article.getBoundingClientRect();
    const place = this.#reference(this.#shown).getBoundingClientRect();
    const width = Math.min(340, page.width);
    const left = Math.max(0, Math.min(place.left - page.left - 20, page.width - width));
    set(this.#card, { style: { left: `${left}px`, top: `${place.bottom - page.top + 6}px`, width: `${width}px` } });
  }
}
