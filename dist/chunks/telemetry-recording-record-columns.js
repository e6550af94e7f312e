import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var e="samples.rec";export{e as a};
