"use strict";
// Keyboard shortcuts: "/" goes to the search, "g" and a letter to a page, "j" and "k" to the next and previous
// headline, "o" opens the original page, "s" stars an article, "m" marks it as read, "?" lists all shortcuts.
// The pages also work without this script.
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

// --- marks of articles
const marks = document.getElementById("marks"); // only for users who are logged in

function chosen() {
  // The item with the focus, or the article of the page.
  return document.activeElement.closest("[data-url]") || document.querySelector("main article[data-url]");
}

async function send(action, url) {
  const body = new URLSearchParams({ secret: marks.elements.secret.value, url });
  const answer = await fetch(`/do/${action}`, { method: "POST", body, redirect: "manual" });
  return answer.type === "opaqueredirect";
}

async function toggleStar(url) {
  const buttons = [...document.querySelectorAll("button.star")].filter((one) => one.value === url);
  if (!buttons.length) return;
  const on = buttons[0].getAttribute("aria-pressed") === "true";
  if (!(await send(on ? "unstar" : "star", url))) return;
  for (const one of buttons) {
    one.setAttribute("aria-pressed", String(!on));
    one.setAttribute("formaction", on ? "/do/star" : "/do/unstar");
    one.textContent = on ? "☆" : "★";
  }
}

async function toggleRead(item) {
  const read = item.dataset.read === "1";
  if (await send(read ? "mark_unread" : "mark_read", item.dataset.url)) item.dataset.read = read ? "0" : "1";
}

if (marks) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.star");
    if (!button) return;
    event.preventDefault(); // without this script, the form is sent and the page is loaded again
    toggleStar(button.value);
  });
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
  } else if (key === "o" && chosen() && chosen().dataset.original !== "#") {
    open(chosen().dataset.original, "_blank", "noopener,noreferrer");
  } else if (key === "s" && marks && chosen()) {
    toggleStar(chosen().dataset.url);
  } else if (key === "m" && marks && chosen()) {
    toggleRead(chosen());
  }
});
