"use strict";
// Each `fetch` with a signal leaves a listener on the signal, which holds the request.

const { setMaxListeners } = require("node:events");
const http = require("node:http");
const { fetch } = require("undici");

const { signal } = new AbortController();
setMaxListeners(0, signal);
let url = "";

exports.start = async () => {
  const server = http.createServer((_, answer) => answer.end("ok"));
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  url = `http://127.0.0.1:${server.address().port}/`;
};

exports.call = async () => {
  const answer = await fetch(url, { signal }); // leaks
  await answer.text();
};
