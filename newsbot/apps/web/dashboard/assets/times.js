"use strict";
// Shows times in the time zone of the reader; the pointer shows UTC. Without this script, times are UTC.
const pageLocale = document.documentElement.dataset.locale;
const localTime = new Intl.DateTimeFormat(pageLocale, { dateStyle: "medium", timeStyle: "short" });

function showLocalTimes(within) {
  for (const one of within.querySelectorAll('time[data-kind="at"]')) {
    one.textContent = localTime.format(new Date(one.dateTime));
  }
}

showLocalTimes(document);
const zone = document.getElementById("zone");
zone.textContent = zone.dataset.text.replace("%s", localTime.resolvedOptions().timeZone);
document.addEventListener("partreplaced", (event) => showLocalTimes(event.target));
