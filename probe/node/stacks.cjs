"use strict";

// Stacks of running JavaScript: taken as call sites, written as file, line and function.

const path = require("node:path");
const { fileURLToPath } = require("node:url");
const { findSourceMap } = require("node:module");

/** Frames of one stack that are written down. */
const DEPTH = 25;
const HERE = __dirname + path.sep;

const captureStackTrace = Error.captureStackTrace;

/**
 * The call sites above the probe's own, innermost first, as [{file, line, column, function}]; works whatever the
 * program did to Error.
 */
function takeStack() {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const holder = {};
  try {
    Error.stackTraceLimit = DEPTH + 6;
    Error.prepareStackTrace = (_, sites) => sites;
    captureStackTrace(holder, takeStack);
    const { stack } = holder;
    return Array.isArray(stack) ? sitesToFrames(stack) : [];
  } catch {
    return [];
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function sitesToFrames(sites) {
  const frames = [];
  for (const site of sites) {
    const file = site.getFileName() ?? site.getEvalOrigin() ?? "";
    if (file === "" || file.startsWith(HERE)) continue;
    frames[frames.length] = {
      file,
      line: site.getLineNumber() ?? 0,
      column: site.getColumnNumber() ?? 0,
      function: site.getFunctionName() ?? site.getMethodName() ?? "",
    };
    if (frames.length === DEPTH) break;
  }
  return frames;
}

/** Whether a script is one of the probe's. */
function isOurs(file) {
  return file.startsWith(HERE) || plainPath(file).startsWith(HERE);
}

function plainPath(file) {
  if (!file.startsWith("file://")) return file;
  try {
    return fileURLToPath(file);
  } catch {
    return file;
  }
}

/** A frame as it is written down: a path instead of a URL, and the line of the source where a source map knows it. */
function resolveFrame({ file, line, column, function: name }) {
  const plain = plainPath(file);
  try {
    const entry = findSourceMap(plain)?.findEntry(line - 1, Math.max(0, column - 1));
    if (entry?.originalSource !== undefined && entry.originalLine !== undefined) {
      return { file: plainPath(entry.originalSource), line: entry.originalLine + 1, function: name };
    }
  } catch {
    // A damaged map: the generated line is still true.
  }
  return { file: plain, line, function: name };
}

module.exports = { DEPTH, isOurs, takeStack, resolveFrame };
