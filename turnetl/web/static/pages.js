// All that the pages do with a script: they work without it.
"use strict";

for (const text of document.querySelectorAll("[data-copy]")) {
  const button = document.createElement("button");
  const status = document.createElement("span");
  button.type = "button";
  button.textContent = "Copy";
  status.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      status.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      status.textContent = "Selected: copy it with the keyboard";
    }
  });
  text.after(" ", button, " ", status);
}

const form = document.querySelector("form[data-live]");
if (form) {
  let latest = 0;
  form.addEventListener("change", async () => {
    const number = ++latest;
    const filled = [...new FormData(form)].filter(([, value]) => value !== "");
    const address = new URL(form.action);
    address.search = new URLSearchParams(filled).toString();
    const text = await fetch(address).then((response) => response.text()).catch(() => "");
    if (number !== latest) return; // a later change has been asked for
    const page = new DOMParser().parseFromString(text, "text/html");
    const results = page.getElementById("results");
    // Without results, such as from a server that was stopped, the browser says why.
    if (!results) return location.assign(address);
    document.getElementById("results").replaceWith(results);
    document.title = page.title;
    history.replaceState(null, "", address);
  });
}
