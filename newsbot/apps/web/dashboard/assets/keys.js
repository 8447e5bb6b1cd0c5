"use strict";
// Keyboard shortcuts: "/" goes to the search, "g" and a letter to a page, "j" and "k" to the next and previous
// headline, "?" lists all shortcuts. The pages also work without this script.
const dialog = document.getElementById("keys");
const shows = document.getElementById("show-keys");
let going = false; // true if the last key was "g"

function listKeys() {
  if (!dialog.open) dialog.showModal();
}

function step(by) {
  // If no headline has the focus, "j" goes to the first headline and "k" to the last one.
  const links = [...document.querySelectorAll("main .headline a")];
  if (!links.length) return;
  const at = links.indexOf(document.activeElement);
  links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + by))].focus();
}

function pressed(event) {
  // With other keyboard layouts, such as Cyrillic, a key gives another letter. The place of the key is used then.
  if (/^[ -~]$/.test(event.key)) return event.key;
  return event.code === "Slash" ? (event.shiftKey ? "?" : "/") : event.code.replace(/^Key/, "").toLowerCase();
}

shows.hidden = false; // without JavaScript, the button would do nothing
shows.addEventListener("click", listKeys);
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (typing || dialog.open || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = pressed(event);
  const asked = going && document.querySelector(`nav a[data-key="${CSS.escape(key)}"]`);
  going = key === "g" && !going;
  if (asked) {
    location.assign(asked.href);
  } else if (key === "/") {
    event.preventDefault();
    const places = ["main input[type=search]", ".find input"].map((one) => document.querySelector(one));
    const seen = places.find((one) => one && one.checkVisibility()); // narrow screens hide the search in the header
    if (seen) seen.focus();
    else location.assign("/articles");
  } else if (key === "?") {
    listKeys();
  } else if (key === "j" || key === "k") {
    step(key === "j" ? 1 : -1);
  }
});
