console.log("boxd")
