// Follows the page, and adds keys. Everything works without this script, too.
"use strict";
(() => {
  const status = document.getElementById("live");
  const say = (text) => { if (status.textContent !== text) status.textContent = text; };

  // Form fields and open details keep their state when the page changes.
  const options = {
    callbacks: {
      beforeAttributeUpdated: (name, node) => !(name === "open" && node.tagName === "DETAILS"),
      beforeNodeMorphed: (node) => !(node.tagName === "INPUT" && node.type !== "hidden") && node.tagName !== "SELECT",
    },
  };

  // A result of a change is on the page only once, so it stays until the user leaves.
  function update(html) {
    const next = new DOMParser().parseFromString(html, "text/html").getElementById("main");
    const main = document.getElementById("main");
    const flash = main.querySelector(".flash");
    if (!next) return;
    if (flash) next.prepend(flash.cloneNode(true));
    Idiomorph.morph(main, next, options);
  }

  // While the pointer moves on a button or link, the page keeps its layout, so that a click hits what the user sees.
  const hold = 2000; // milliseconds
  let next = null, timer, pointed = 0;
  function settle() {
    clearTimeout(timer);
    if (next === null) return;
    const wait = pointed + hold - Date.now();
    if (wait > 0) { timer = setTimeout(settle, wait); return; }
    update(next);
    next = null;
    date();
  }

  // The age of the page that is shown: the hub reads a page again after seconds, depending on its load.
  let read = null;
  function date() {
    const time = document.querySelector("#age time"), now = new Date(read);
    if (!time || read === null) return;
    time.dateTime = now.toISOString();
    time.textContent = now.toISOString().slice(11, 19) + " UTC";
  }
  for (const kind of ["pointermove", "pointerdown"]) {
    document.addEventListener(kind, (event) => {
      pointed = event.target.closest && event.target.closest("form, a, summary") ? Date.now() : 0;
      if (!pointed) settle();
    });
  }

  let source;
  function follow() {
    if (source) source.close();
    source = new EventSource("/live?at=" + encodeURIComponent(document.body.dataset.path));
    source.addEventListener("open", () => say("This page updates itself."));
    source.addEventListener("page", (event) => { next = JSON.parse(event.data); settle(); });
    source.addEventListener("read", (event) => { read = Date.now() - Number(event.data); if (next === null) date(); });
    source.addEventListener("error", () => say("The connection is lost. The page shows the last known state."));
  }
  document.addEventListener("visibilitychange", () => {
    if (document.body.dataset.path === undefined) return;
    if (document.hidden) { if (source) source.close(); } else { follow(); }
  });
  if (document.body.dataset.path !== undefined && !document.querySelector(".problem")) follow();

  // A click on a picture of many targets opens the target of the tile.
  const size = 9, perRow = 110;
  function tileAt(event) {
    const map = event.target.closest ? event.target.closest(".map") : null;
    if (!map) return null;
    const box = map.getBoundingClientRect(), view = map.viewBox.baseVal;
    const column = Math.floor((event.clientX - box.left) * view.width / box.width / size);
    const row = Math.floor((event.clientY - box.top) * view.height / box.height / size);
    return { map, name: map.dataset.names.split(" ")[row * perRow + column] };
  }
  document.addEventListener("click", (event) => {
    const tile = tileAt(event);
    if (tile && tile.name) location.href = "/targets/" + encodeURIComponent(tile.name);
  });
  document.addEventListener("mousemove", (event) => {
    const tile = tileAt(event);
    if (!tile) return;
    let title = tile.map.querySelector("title");
    if (!title) {
      title = document.createElementNS("http://www.w3.org/2000/svg", "title");
      tile.map.prepend(title);
    }
    if (title.textContent !== (tile.name || "")) title.textContent = tile.name || "";
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "/") { event.preventDefault(); const find = document.querySelector(".find input"); if (find) find.focus(); }
    if (event.key === "c") { const same = document.getElementById("same"); if (same) { same.open = !same.open; same.scrollIntoView(); } }
  });
})();
