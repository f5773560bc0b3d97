// The page /docs: shows the description of requests, /spec, which is OpenAPI 3.

const make = (name, fields, ...children) => {
  const element = Object.assign(document.createElement(name), fields);
  element.append(...children);
  return element;
};
const code = (textContent) => make("code", { textContent });
const byId = (id) => document.getElementById(id);

let spec;

/** Returns a schema, or the one that it refers to. */
function resolved(schema) {
  return schema?.$ref ? spec.components.schemas[schema.$ref.split("/").at(-1)] : (schema ?? {});
}

/** Returns a schema's type in words. */
function typeOf(schema) {
  const { type, items, enum: values, oneOf, anyOf, nullable } = resolved(schema);
  if (values) return values.join(", ");
  const choices = oneOf ?? anyOf;
  if (choices) return choices.map(typeOf).join(" or ");
  const name = type === "array" ? `list of ${typeOf(items)}` : (type ?? "null");
  return nullable && type ? `${name} or null` : name;
}

/** Returns the fields of an object, or of the objects of a list, as rows of a table. */
function fieldsOf(schema) {
  const object = resolved(schema);
  if (object.type === "array") return fieldsOf(object.items);
  return Object.entries(object.properties ?? {}).map(([name, value]) => ({
    name,
    schema: value,
    isRequired: object.required?.includes(name),
    text: resolved(value).description ?? "",
  }));
}

function table(caption, heads, rows) {
  const head = make("tr", {}, ...heads.map((textContent) => make("th", { textContent })));
  const body = rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell))));
  return make("table", {}, make("caption", { textContent: caption }), head, ...body);
}

function fieldTable(caption, fields) {
  const rows = fields.map(({ name, schema, isRequired, text }) => [
    code(name),
    typeOf(schema) + (isRequired ? ", required" : ""),
    text,
  ]);
  return rows.length ? [table(caption, ["Field", "Type", "Meaning"], rows)] : [];
}

/** Returns an element that describes a request. */
function request(path, method, { summary, parameters = [], requestBody, responses }) {
  const inAddress = parameters.map(({ name, schema, required, description }) => ({
    name,
    schema,
    isRequired: required,
    text: description,
  }));
  const bodies = Object.entries(requestBody?.content ?? {});
  const kinds = bodies.map(([type]) => type).join(" or ");
  const [{ content = {} }] = Object.values(responses); // of success: the lowest status
  const statuses = Object.entries(responses).map(([status, { description, content: types }]) => [
    code(status),
    types ? `${description} (${Object.keys(types)[0]})` : description,
  ]);
  return make(
    "details",
    {},
    make("summary", {}, code(`${method.toUpperCase()} ${path}`), summary),
    ...fieldTable("In the address", inAddress),
    ...fieldTable(`In the body: ${kinds}`, fieldsOf(bodies[0]?.[1].schema)),
    ...fieldTable("In the response", fieldsOf(Object.values(content)[0]?.schema)),
    table("Responses", ["Status", "Meaning"], statuses),
  );
}

async function show() {
  const response = await fetch("spec");
  spec = await response.json();
  byId("title").textContent = `Requests of ${spec.info.title}`;
  byId("about").textContent = spec.info.description;
  for (const { name, description } of spec.tags) {
    const requests = Object.entries(spec.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { tags }]) => tags.includes(name))
        .map(([method, operation]) => request(path, method, operation)),
    );
    const about = description ? [make("p", { textContent: description })] : [];
    byId("requests").append(make("h2", { textContent: name }), ...about, ...requests);
  }
}

show().catch((error) => {
  byId("about").textContent = `The description cannot be loaded: ${error.message}`;
});
