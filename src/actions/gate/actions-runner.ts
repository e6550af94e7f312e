import {
  endGroup,
  error,
  getState,
  info as plainInfo,
  saveState,
  setOutput,
  setSecret,
  startGroup,
  warning,
} from "@actions/core";
import { logLine } from "./log-line.ts";
import type { RunnerCommands } from "./step.ts";

/**
 * The runner's commands and files. Each function is named, because whoever takes the toolkit as a whole also starts its HTTP
 * client, which is twenty times the size of everything else that a step starts with.
 */
export const actionsRunner: RunnerCommands = {
  endGroup,
  error,
  getState,
  info: (message) => plainInfo(logLine(message)),
  saveState,
  setOutput,
  setSecret,
  startGroup,
  warning,
};
