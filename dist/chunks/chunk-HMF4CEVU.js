import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import e from"node:path";function n(t){let r=e.relative(process.cwd(),t);return r===""?".":r.split(e.sep)[0]===".."?t:r}export{n as a};
