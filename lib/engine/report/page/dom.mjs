/**
 * An element. What is given as text becomes text, never markup: it may come from a remote machine.
 *
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | number | boolean | undefined>} attributes `class`, `type` and the like; true stands for an empty one
 * @param {...(Node | string | number | undefined)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children) if (child !== undefined) element.append(typeof child === 'number' ? `${child}` : child);
  return element;
}

/**
 * An element of the page itself.
 *
 * @param {string} id
 * @returns {HTMLElement}
 */
export function part(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

/**
 * A button that does something.
 *
 * @param {Record<string, string | number | boolean | undefined>} attributes
 * @param {(event: MouseEvent) => void} act
 * @param {...(Node | string | number | undefined)} children
 */
export function button(attributes, act, ...children) {
  const element = make('button', { type: 'button', ...attributes }, ...children);
  element.addEventListener('click', act);
  return element;
}

/**
 * The first of many, and a button for more: a page stays light with thousands.
 *
 * @template T
 * @param {readonly T[]} items
 * @param {(item: T) => Node} draw
 * @param {number} atOnce
 * @returns {DocumentFragment}
 */
export function firstOf(items, draw, atOnce = 40) {
  const list = document.createDocumentFragment();
  for (const item of items.slice(0, atOnce)) list.append(draw(item));
  const rest = items.slice(atOnce);
  if (rest.length === 0) return list;
  const more = button({ class: 'more' }, () => more.replaceWith(firstOf(rest, draw, atOnce)), `${rest.length} more …`);
  list.append(more);
  return list;
}

/**
 * Calls back once each element comes near the window, or before the page is printed.
 *
 * @param {(element: Element) => void} draw
 * @returns {(element: Element) => void} to be told of each element
 */
export function whenNear(draw) {
  /** @type {Set<Element>} */
  const waiting = new Set();
  const drawOnce = (/** @type {Element} */ element) => {
    observer.unobserve(element);
    if (waiting.delete(element)) draw(element);
  };
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) drawOnce(target);
    },
    { rootMargin: '400px' },
  );
  addEventListener('beforeprint', () => {
    for (const element of [...waiting]) if (element.isConnected) drawOnce(element);
  });
  return (element) => {
    waiting.add(element);
    observer.observe(element);
  };
}
