import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
function e(t){return/^[\w@%+=:,./-]+$/.test(t)?t:`'${t.replaceAll("'","'\\''")}'`}export{e as a};
