export const STYLE = `
:root{color-scheme:light dark;--line:#8884;--soft:#8881}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
nav a{margin-right:.8em}
h2{margin-top:2.5rem;text-transform:capitalize}
h3{font-size:1rem;margin:.8rem 0 .2rem}
details{border:1px solid var(--line);border-radius:.4rem;margin:.4rem 0;padding:.4rem .8rem}
summary{cursor:pointer}
summary b{display:inline-block;min-width:4.5em}
.get{color:#27c}.post{color:#284}.put{color:#a60}.delete{color:#c33}
pre{background:var(--soft);padding:.6rem;overflow:auto;margin:.3rem 0;font-size:.85em}
table{border-collapse:collapse;width:100%}
td{border-top:1px solid var(--line);padding:.2rem .6rem .2rem 0;vertical-align:top}
td pre{margin:0}
`;
