import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var o=/(?:^|[\s/])(?:node|nodejs|npm|npx|pnpm|yarn|tsx)(?=\s|$)/,e=n=>n.kind==="shell"?n.script:n.argv.join(" "),r=n=>o.test(e(n));export{e as a,r as b};
