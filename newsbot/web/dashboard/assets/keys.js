"use strict";
// "/" goes to the search, "g" and a letter to a page. Everything works without it.
const places = { o: "/", s: "/sources", a: "/articles", t: "/stories", m: "/monitor", w: "/why" };
let going = false;
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    (document.querySelector("main input[type=search]") || document.querySelector(".find input")).focus();
  } else if (going && places[event.key]) {
    location.assign(places[event.key]);
  }
  going = event.key === "g";
});
