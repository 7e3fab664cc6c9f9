// Sets the theme before the first paint, so that a page in the dark does not flash.
// A classic script: a module would run after the paint.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is blocked: the theme of the system stays.
}
