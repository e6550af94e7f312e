import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{d as a,e as b,f as c,g as d,h as e}from"./actions-github-lib-context.js";import"./octokit-request-error-dist-src-index.js";import"./none.js";export{d as GitHub,b as context,c as defaults,e as getOctokitOptions,a as getUserAgentWithOrchestrationId};
