/** A page with what is between two marks replaced. @throws Error when it has no such section */
export function withSection(page: string, begin: string, end: string, text: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has no section between "${begin}" and "${end}"`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}
