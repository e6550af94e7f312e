import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a,b}from"./octokit-plugin-retry-dist-bundle-index.js";import"./octokit-request-error-dist-src-index.js";import"./bottleneck-light.js";import"./none.js";export{a as VERSION,b as retry};
