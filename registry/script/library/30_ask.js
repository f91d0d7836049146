// Requests to the host. Those that are made before the script waits go out together, as one round.

const maxRound = 64;
let waiting = [];

// ask queues a request and returns a promise of its result.
function ask(method, params, key) {
  if (host.importing()) {
    return Promise.reject(new Error(`${method}: the host can only be asked during a call; do this inside of a tool, not while the script is imported`));
  }
  return new Promise((resolve, reject) => waiting.push({ method, params, key, resolve, reject }));
}

// tell makes a request at once, and ignores a refusal: notifications are best effort.
function tell(method, params) {
  if (host.importing()) return;
  host.ask(jsonOf({ method, params }));
}

// flush sends the queued requests; false if there are none.
function flush() {
  if (waiting.length === 0) return false;
  const round = waiting.slice(0, maxRound);
  waiting = waiting.slice(maxRound);
  const requests = round.map(({ method, params, key }) => ({ method, params, key }));
  let answers;
  try {
    answers = host.ask(jsonOf(round.length === 1 ? requests[0] : requests));
    if (round.length === 1) answers = [answers];
    if (!Array.isArray(answers)) answers = round.map(() => answers);
  } catch (e) {
    round.forEach((r) => r.reject(e));
    return true;
  }
  round.forEach((r, i) => {
    const { result, error } = answers[i] ?? {};
    if (error) r.reject(new HostError(error.message, error.data));
    else r.resolve(result);
  });
  return true;
}

const streamKey = "dev.sallyport/stream";
const chunk = 1 << 16;

// readAll reads a stream, or the text in its place, as bytes.
function readAll(body) {
  if (body === undefined || body === null) return new Uint8Array();
  if (typeof body === "string") return new Uint8Array(host.encode(body));
  const parts = [];
  let size = 0;
  for (;;) {
    const part = new Uint8Array(host.read(body[streamKey], chunk));
    if (part.length === 0) break;
    parts.push(part);
    size += part.length;
  }
  host.close(body[streamKey]);
  if (parts.length === 1) return parts[0];
  const all = new Uint8Array(size);
  let n = 0;
  for (const part of parts) all.set(part, n), (n += part.length);
  return all;
}

// spool writes bytes to a new stream of the host and returns the reference to it.
async function spool(bytes) {
  const ref = await ask("stream/open", {});
  for (let n = 0; n < bytes.length; n += 1 << 20) {
    const part = bytes.slice(n, n + (1 << 20));
    const r = host.write(ref[streamKey], part.buffer);
    if (r < 0) throw new HostError(`the host refused ${bytes.length} bytes with error ${-r}`, { kind: "limit" });
  }
  return ref;
}
