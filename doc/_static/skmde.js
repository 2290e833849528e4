// What neither the theme nor a page can say in HTML.
document.addEventListener("DOMContentLoaded", () => {
  // Pictures that a screen shows much smaller than they are open alone, by pointer or key.
  const open = image => {
    if (image.closest("a, .sphx-glr-thumbcontainer, .sd-card")) return;
    if (image.naturalWidth < 1.25 * image.clientWidth) return;
    const link = document.createElement("a");
    link.href = image.src;
    link.className = "enlarge";
    link.title = "Open the picture in its full size";
    image.replaceWith(link);
    link.append(image);
  };
  for (const image of document.querySelectorAll("article img")) {
    if (image.complete) open(image);
    else image.addEventListener("load", () => open(image), { once: true });
  }

  // The arrows of the navigation have no name.
  for (const summary of document.querySelectorAll("nav details > summary")) {
    const page = summary.parentElement.parentElement.querySelector("a")?.innerText.trim();
    summary.setAttribute("aria-label", page ? `Pages of ${page}` : "Pages");
  }
});
