import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a as e}from"./valibot-dist-index.js";function o(t){return`${e(t)??"document"}: ${t.message}`}export{o as a};
