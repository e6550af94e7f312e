#!/usr/bin/env node
import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import("./chunks/main-ODIPNYP6.js").catch(e=>{let{code:o}=e;if(o!=="EMFILE"&&o!=="ENFILE")throw e;process.stderr.write(`error TOO_MANY_OPEN_FILES: no more files can be opened
  Raise the limit to 256 (ulimit -n).
`),process.exitCode=1});
