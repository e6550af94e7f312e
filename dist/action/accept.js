process.on("SIGUSR1",()=>{});await import("../chunks/step-accept.js");
