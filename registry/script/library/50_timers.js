// Timers, AbortController, performance. Time passes only while the script waits.

let timers = [];
let lastTimer = 0;

function start(handler, delay, args, every) {
  if (typeof handler !== "function") throw new TypeError("The \"callback\" argument must be of type function.");
  const ms = Math.max(Number(delay) || 0, 1);
  const timer = { id: ++lastTimer, due: Date.now() + ms, ms, every, run: () => handler(...args) };
  timers.push(timer);
  return timer.id;
}

const setTimeout = (handler, delay, ...args) => start(handler, delay, args, false);
const setInterval = (handler, delay, ...args) => start(handler, delay, args, true);
const setImmediate = (handler, ...args) => start(handler, 0, args, false);
function clearTimeout(id) {
  timers = timers.filter((t) => t.id !== id);
}

// elapse sleeps until the next timer and runs it; false if there is none.
function elapse() {
  if (timers.length === 0) return false;
  let next = timers[0];
  for (const t of timers) if (t.due < next.due) next = t;
  host.sleep(next.due - Date.now());
  if (next.every) next.due = Math.max(next.due + next.ms, Date.now());
  else clearTimeout(next.id);
  try {
    next.run();
  } catch (e) {
    console.error(stackOf(e));
  }
  return true;
}

class Event {
  constructor(type, init = {}) {
    this.type = String(type);
    Object.assign(this, init);
  }
}

class EventTarget {
  #listeners = new Map();
  addEventListener(type, listener, options) {
    const all = this.#listeners.get(type) ?? [];
    if (listener && !all.some((l) => l.listener === listener)) all.push({ listener, once: Boolean(options?.once) });
    this.#listeners.set(type, all);
  }
  removeEventListener(type, listener) {
    this.#listeners.set(type, (this.#listeners.get(type) ?? []).filter((l) => l.listener !== listener));
  }
  dispatchEvent(event) {
    event.target = event.currentTarget = this;
    for (const l of [...(this.#listeners.get(event.type) ?? [])]) {
      if (l.once) this.removeEventListener(event.type, l.listener);
      if (typeof l.listener === "function") l.listener.call(this, event);
      else l.listener.handleEvent(event);
    }
    this[`on${event.type}`]?.(event);
    return true;
  }
}

const signalKey = Symbol("signal");

class AbortSignal extends EventTarget {
  constructor(key) {
    super();
    if (key !== signalKey) throw new TypeError("Illegal constructor");
    this.aborted = false;
    this.reason = undefined;
    this.onabort = null;
  }
  throwIfAborted() {
    if (this.aborted) throw this.reason;
  }
  static abort(reason = new DOMException("This operation was aborted", "AbortError")) {
    const s = new AbortSignal(signalKey);
    s.aborted = true;
    s.reason = reason;
    return s;
  }
  static timeout(ms) {
    const s = new AbortSignal(signalKey);
    s.due = Date.now() + Number(ms);
    setTimeout(() => abortSignal(s, new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms);
    return s;
  }
  static any(signals) {
    const s = new AbortSignal(signalKey);
    for (const other of signals) {
      if (other.aborted) return AbortSignal.abort(other.reason);
      if (other.due !== undefined) s.due = Math.min(s.due ?? Infinity, other.due);
      other.addEventListener("abort", () => abortSignal(s, other.reason));
    }
    return s;
  }
}

function abortSignal(signal, reason = new DOMException("This operation was aborted", "AbortError")) {
  if (signal.aborted) return;
  signal.aborted = true;
  signal.reason = reason;
  signal.dispatchEvent(new Event("abort"));
}

class AbortController {
  signal = new AbortSignal(signalKey);
  abort(reason) {
    abortSignal(this.signal, reason);
  }
}

let origin = 0;
const performance = {
  get timeOrigin() {
    return origin;
  },
  now: () => Date.now() - origin,
  mark() {},
  measure() {},
};
