// Answers from a cache, so that the page works offline. worker.js adds the large files.

const VERSION = "{version}";
const FILES = ["./", ...{files}]; // nmt export fills in names and version
const OURS = `nmt ${self.registration.scope} `; // other pages of the server have other caches
const NAME = OURS + VERSION;

async function install() {
  const cache = await caches.open(NAME);
  await cache.addAll(FILES.map((file) => new Request(file, { cache: "reload" })));
}

async function activate() {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith(OURS) && name !== NAME);
  await Promise.all(old.map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function answer(request) {
  const cache = await caches.open(NAME);
  const cached = await cache.match(request, { ignoreSearch: request.mode === "navigate" });
  return cached ?? fetch(request);
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("fetch", (event) => event.respondWith(answer(event.request)));
