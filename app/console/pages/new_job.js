export function open() {
  return { title: "" };
}
