/** A rectangle in pixels; `x` and `y` are its top left corner. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A vertical stroke of a drawn line, which a label avoids where it can. */
export interface Stroke {
  readonly x: number;
  readonly top: number;
  readonly bottom: number;
}

export interface LabelRequest {
  readonly width: number;
  readonly height: number;
  /** Preferred top left corners, the best first. */
  readonly corners: readonly Point[];
}

/** Minimum distance between two labels. */
const GAP = 4;
/** Positions on each axis where a label without a free preferred corner is tried. */
const GRID = 12;

/**
 * Places for labels within an area, in the order of the requests; null for one that finds none. Two labels never
 * overlap. Of its free corners a label takes the first that crosses no line, else the one that crosses the least.
 */
export function placeLabels(
  requests: readonly LabelRequest[],
  area: Box,
  strokes: readonly Stroke[] = [],
): readonly (Box | null)[] {
  const placed: Box[] = [];
  return requests.map(({ width, height, corners }) => {
    if (!(width <= area.width && height <= area.height)) return null;
    let best: Box | null = null;
    let fewest = Number.POSITIVE_INFINITY;
    for (const corner of [...corners, ...fallbacks(corners[0], area, width, height)]) {
      const box = within(area, { x: corner.x, y: corner.y, width, height });
      if (box === null || placed.some((other) => overlaps(box, other))) continue;
      const crossed = crossings(box, strokes);
      if (crossed < fewest) [best, fewest] = [box, crossed];
      if (crossed === 0) break;
    }
    if (best !== null) placed.push(best);
    return best;
  });
}

/** Whether two boxes are nearer than a small gap. */
export function overlaps(a: Box, b: Box): boolean {
  return (
    a.x < b.x + b.width + GAP && b.x < a.x + a.width + GAP && a.y < b.y + b.height + GAP && b.y < a.y + a.height + GAP
  );
}

/** A box moved into the area; null when its place is unknown. */
function within(area: Box, box: Box): Box | null {
  if (!Number.isFinite(box.x) || !Number.isFinite(box.y)) return null;
  const x = Math.max(area.x, Math.min(area.x + area.width - box.width, box.x));
  const y = Math.max(area.y, Math.min(area.y + area.height - box.height, box.y));
  return { ...box, x, y };
}

function crossings(box: Box, strokes: readonly Stroke[]): number {
  let count = 0;
  for (const { x, top, bottom } of strokes) {
    if (x >= box.x - 1 && x <= box.x + box.width + 1 && bottom >= box.y && top <= box.y + box.height) count += 1;
  }
  return count;
}

/** A grid over the area, the points nearest to the wanted corner first. */
function fallbacks(wanted: Point | undefined, area: Box, width: number, height: number): Point[] {
  const points: Point[] = [];
  for (let row = 0; row < GRID; row++) {
    for (let column = 0; column < GRID; column++) {
      points.push({
        x: area.x + ((area.width - width) * column) / (GRID - 1),
        y: area.y + ((area.height - height) * row) / (GRID - 1),
      });
    }
  }
  if (wanted === undefined || !Number.isFinite(wanted.x + wanted.y)) return points;
  const distance = ({ x, y }: Point) => Math.hypot(x - wanted.x, y - wanted.y);
  return points.sort((a, b) => distance(a) - distance(b));
}
