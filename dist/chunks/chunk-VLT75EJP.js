import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var r={"\n":"\\n","\r":"\\r","	":"\\t","\\":"\\\\","'":"\\'"};function e(t){return/^[\w@%+=:,./-]+$/.test(t)?t:/[\r\n]/.test(t)?`$'${t.replace(/[\n\r\t\\']/g,n=>r[n]??"")}'`:`'${t.replaceAll("'","'\\''")}'`}export{e as a};
