import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var e="Stormlog-Depth";function r(t){let[,n]=new RegExp(`^${e}: (\\d{1,9})$`,"m").exec(t)??[];return n===void 0?0:Number(n)}function o(t,n){return`${t}

${e}: ${n}
`}export{r as a,o as b};
