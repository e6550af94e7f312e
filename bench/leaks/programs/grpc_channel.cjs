"use strict";
// A closed channel stays in a table of the module.

const grpc = require("@grpc/grpc-js");

const same = (bytes) => bytes;
const ping = {
  path: "/test.Service/ping",
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};
const Client = grpc.makeGenericClientConstructor({ ping }, "Service");
let address = "";

exports.start = async () => {
  const server = new grpc.Server();
  server.addService({ ping }, { ping: (_, answer) => answer(null, Buffer.from("x")) });
  const port = await new Promise((bound, failed) =>
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, at) =>
      error ? failed(error) : bound(at),
    ),
  );
  server.start();
  address = `127.0.0.1:${port}`;
};

exports.call = async () => {
  const client = new Client(address, grpc.credentials.createInsecure()); // leaks
  await new Promise((answered) => client.ping(Buffer.from("y"), answered));
  client.close();
};
