// count-tests REPORT RED: from Vitest's JSON report, print "<passed> <failed>" and append what failed, with its reason,
// to the file RED.
import { appendFileSync, readFileSync } from "node:fs";

const MESSAGE_CHARACTERS = 600;
const [report = "", red = ""] = process.argv.slice(2);
const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, "utf8"));
console.log(numPassedTests, numFailedTests);
const tell = (name, message) => appendFileSync(red, `red: ${name}\n  ${message?.slice(0, MESSAGE_CHARACTERS) ?? ""}\n`);
for (const { name, status, message, assertionResults } of testResults) {
  const failed = assertionResults.filter((test) => test.status === "failed");
  if (status === "failed" && failed.length === 0) tell(name, message);
  for (const { fullName, failureMessages } of failed) tell(`${name} > ${fullName}`, failureMessages[0]);
}
