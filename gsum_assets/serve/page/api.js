// Requests to the service that this page comes from.

const TOKEN = "gsum-token";

/** An error whose message the service wrote. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const setToken = (token) => sessionStorage.setItem(TOKEN, token);

async function request(path, init = {}) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = { ...init.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let response;
  try {
    response = await fetch(path, { ...init, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The service does not answer. Is `gsum serve` still running?");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new ApiError(response.status, body.error?.message ?? `The service answered with status ${response.status}.`);
}

/** GET a path below /api as JSON; values that are lists are repeated, empty ones left out. */
export async function get(path, query = {}, signal = undefined) {
  const values = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const known = values.filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return (await request(`api/${path}?${new URLSearchParams(known)}`, { signal })).json();
}

const posted = (path, body, signal) =>
  request(`api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });

export const post = async (path, body, signal) => (await posted(path, body, signal)).json();

/** POST a question; `onWords` gets the words of the answer as they are written, null if they are void. */
export async function ask(body, onWords, signal) {
  const response = await posted("ask", { ...body, stream: true }, signal);
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response.json();
  let answer = null;
  for await (const { event, data } of events(response.body)) {
    if (event === "words") onWords(data.text);
    else if (event === "restart") onWords(null);
    else if (event === "error") throw new ApiError(500, data.error?.message ?? data.message);
    else if (event === "answer") answer = data;
  }
  if (!answer) throw new ApiError(0, "The service ended before the answer was complete. Ask again.");
  return answer;
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n").map((line) => line.split(/: ?(.*)/s));
      const of = (name) => lines.filter(([key]) => key === name).map(([, text]) => text).join("\n");
      if (of("data")) yield { event: of("event"), data: JSON.parse(of("data")) };
    }
  }
}
