/** The titles of a page's headings. */
export function headingsOf(markdown: string): string[] {
  const headings = markdown.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, title = '']) => title);
}

/** The anchor of a heading, as GitHub and VitePress make it. */
export function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
