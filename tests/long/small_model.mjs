// A small language model behind an OpenAI-compatible service, for the long form `model`:
//   node small_model.mjs WEIGHTS PORT          (node-llama-cpp beside it or in NODE_PATH's place)
// POST /v1/chat/completions, whole or streamed. With tools, one short grammar chooses a tool or a message and
// the tool's own schema then shapes the arguments, so what comes out always parses; whether it makes sense is up to the model.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [weights, port, modules] = process.argv.slice(2);
const library = createRequire(`${modules}/package.json`).resolve("node-llama-cpp");
const { getLlama, LlamaChat, resolveChatWrapper } = await import(pathToFileURL(library));

const llama = await getLlama({ gpu: false, build: "never", skipDownload: true, logLevel: "error", maxThreads: 1 });
const model = await llama.loadModel({ modelPath: weights });
const context = await model.createContext({ contextSize: 8192, threads: 1 });
const sequence = context.getSequence();
const chatWrapper = resolveChatWrapper(model);

const words = (content) => (Array.isArray(content) ? content.map((part) => part.text ?? "").join("") : content ?? "");

/** Our messages as the library's history; calls and results become words. */
function historyOf(messages, note) {
  const history = note ? [{ type: "system", text: note }] : [];
  for (const message of messages) {
    const called = (message.tool_calls ?? []).map((call) => `\n${call.function.name}(${call.function.arguments})`).join("");
    if (message.role === "system") history.push({ type: "system", text: words(message.content) });
    else if (message.role === "assistant") history.push({ type: "model", response: [words(message.content) + called] });
    else history.push({ type: "user", text: (message.role === "tool" ? "The tool returned: " : "") + words(message.content) });
  }
  return history;
}

async function generate(history, maxTokens, schema, show) {
  const chat = new LlamaChat({ contextSequence: sequence, chatWrapper });
  const grammar = schema && (await llama.createGrammarForJsonSchema(schema));
  try {
    const made = await chat.generateResponse([...history, { type: "model", response: [] }], { maxTokens, temperature: 0, grammar, onTextChunk: show });
    return { text: made.response, isCut: made.metadata.stopReason === "maxTokens", tokens: model.tokenize(made.response).length };
  } finally {
    chat.dispose({ disposeSequence: false });
    await sequence.clearHistory();
  }
}

/** The schema as far as the grammar follows it. What is optional is left out: a model this small fills it with noise. */
function plain(schema) {
  if (schema === null || typeof schema !== "object" || Array.isArray(schema)) return { type: "string" };
  const { type, properties, items, required, enum: choices } = schema;
  if (choices) return { enum: choices };
  if (type === "array") return { type, items: plain(items), maxItems: 1 };
  if (type === "object" || properties) {
    const rows = (required ?? []).filter((name) => properties?.[name]).map((name) => [name, plain(properties[name])]);
    return { type: "object", properties: Object.fromEntries(rows) };
  }
  return { type: typeof type === "string" ? type : "string" };
}

async function answer(asked, show) {
  const tools = (asked.tools ?? []).map((tool) => tool.function);
  const limit = asked.max_tokens ?? asked.max_completion_tokens ?? 128;
  if (tools.length) {
    const named = tools.map((tool) => `${tool.name}: ${tool.description}`.slice(0, 160)).join("\n");
    const history = historyOf(asked.messages, `Tools:\n${named}`);
    const wish = typeof asked.tool_choice === "object" ? asked.tool_choice.function.name : null;
    const choice = wish ?? JSON.parse((await generate([...history, { type: "user", text: "Does this need one of the tools, or only words? Name the tool, or say words." }], 24,
      { enum: ["words", ...tools.map((tool) => tool.name)] })).text);
    const tool = tools.find((each) => each.name === choice);
    if (tool) {
      const made = await generate([...history, { type: "user", text: `The arguments of ${tool.name}, as JSON:` }], limit, plain(tool.parameters));
      const call = { id: `call_${Date.now().toString(36)}`, type: "function", function: { name: tool.name, arguments: made.text } };
      return { message: { role: "assistant", content: null, tool_calls: [call] }, finish: made.isCut ? "length" : "tool_calls", tokens: made.tokens };
    }
  }
  const made = await generate(historyOf(asked.messages), limit, null, show);
  return { message: { role: "assistant", content: made.text }, finish: made.isCut ? "length" : "stop", tokens: made.tokens };
}

let last = Promise.resolve();        // one at a time: there is one context
createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => { last = last.then(() => serve(request, Buffer.concat(parts).toString("utf8"), response)); });
}).listen(Number(port), "127.0.0.1", () => console.log("ready"));

async function serve(request, body, response) {
  const say = (status, value) => { response.writeHead(status, { "content-type": "application/json" }); response.end(JSON.stringify(value)); };
  if (request.method !== "POST" || !request.url.endsWith("/chat/completions")) return say(404, { error: { message: "no such route" } });
  try {
    const asked = JSON.parse(body);
    const event = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
    if (asked.stream) response.writeHead(200, { "content-type": "text/event-stream" });
    const show = asked.stream ? (text) => event({ choices: [{ index: 0, delta: { content: text }, finish_reason: null }] }) : undefined;
    const { message, finish, tokens } = await answer(asked, show);
    const usage = { prompt_tokens: model.tokenize(asked.messages.map((row) => words(row.content)).join("\n")).length, completion_tokens: tokens };
    if (!asked.stream) return say(200, { object: "chat.completion", choices: [{ index: 0, message, finish_reason: finish }], usage });
    if (message.tool_calls) event({ choices: [{ index: 0, delta: { tool_calls: message.tool_calls.map((call, index) => ({ index, ...call })) }, finish_reason: null }] });
    event({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });
    event({ choices: [], usage });
    response.end("data: [DONE]\n\n");
  } catch (problem) {
    const error = { error: { message: String(problem?.message ?? problem), type: "invalid_request_error" } };
    if (response.headersSent) response.end(`data: ${JSON.stringify(error)}\n\n`);
    else say(400, error);
  }
}
