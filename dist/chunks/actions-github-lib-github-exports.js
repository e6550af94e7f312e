import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a,b}from"./actions-github-lib-github.js";import"./actions-github-lib-context.js";import"./octokit-request-error-dist-src-index.js";import"./none.js";export{a as context,b as getOctokit};
