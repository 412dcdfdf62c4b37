import { LONGEST_FORM, TOO_LONG } from "./longest-form.ts";

/**
 * Cells of Java, in the JDK's own shell within one process: declarations and values stay. Java offers
 * no way to change a variable of its own environment, so the map behind it is opened, for programs
 * that a cell starts too. Cells written for E2B look for variables among the properties. What the mark
 * carries is told in `translate.ts`.
 */
export const javaRunner = (mark: string): string => String.raw`
import java.io.*;
import java.lang.reflect.*;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.*;
import jdk.jshell.*;

class Cells {
  static final JShell SHELL = JShell.builder().executionEngine("local").build();
  static final Map<String, String> told = new LinkedHashMap<>();

  @SuppressWarnings("unchecked")
  static Map<String, String> environment() throws ReflectiveOperationException {
    Field kept = Class.forName("java.lang.ProcessEnvironment").getDeclaredField("theEnvironment");
    Constructor<?> view = Class.forName("java.lang.ProcessEnvironment$StringEnvironment").getDeclaredConstructor(Map.class);
    kept.setAccessible(true);
    view.setAccessible(true);
    return (Map<String, String>) view.newInstance(kept.get(null));
  }

  public static void main(String[] given) throws Exception {
    for (String name : "io math net nio.file util util.concurrent util.function util.regex util.stream".split(" "))
      SHELL.eval("import java." + name + ".*;");
    System.getenv().forEach((name, value) -> System.getProperties().putIfAbsent(name, value));
    Class<?> signal = Class.forName("sun.misc.Signal"), handler = Class.forName("sun.misc.SignalHandler");
    Object stop = Proxy.newProxyInstance(Cells.class.getClassLoader(), new Class<?>[] {handler}, (self, method, with) -> {
      SHELL.stop();
      return null;
    });
    signal.getMethod("handle", signal, handler).invoke(null, signal.getConstructor(String.class).newInstance("INT"), stop);
    BufferedReader cells = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    System.setIn(InputStream.nullInputStream());
    int count = 0;
    for (String line; (line = cells.readLine()) != null;) {
      told.clear();
      told.put("count", String.valueOf(++count));
      String[] words = line.split(" ");
      runWith(Arrays.stream(words).skip(1).map(word -> word.split("=", 2)).toList(), text(words[0]));
      // What is too long already is not made longer: there may be no memory for that.
      refuseLonger(told.values().stream().mapToLong(String::length).sum());
      String form = form();
      if (refuseLonger(form.length())) form = form();
      System.out.print("${mark} " + form + "\n");
      System.out.flush();
      System.err.print("${mark} " + count + "\n");
      System.err.flush();
    }
    System.exit(0);
  }

  static boolean refuseLonger(long length) {
    if (length <= ${LONGEST_FORM}) return false;
    told.keySet().retainAll(Set.of("count"));
    fail("ResultTooLong", String.format("${TOO_LONG}", length >> 20), "");
    return true;
  }

  static String form() {
    StringJoiner form = new StringJoiner("&");
    told.forEach((name, value) -> form.add(name + "=" + URLEncoder.encode(value, StandardCharsets.UTF_8)));
    return form.toString();
  }

  static void runWith(List<String[]> given, String code) throws ReflectiveOperationException {
    if (given.isEmpty()) {
      run(code);
      return;
    }
    Map<String, String> environment = environment(), before = new HashMap<>(System.getenv());
    Properties properties = (Properties) System.getProperties().clone();
    try {
      for (String[] one : given) {
        environment.put(text(one[0]), text(one[1]));
        System.setProperty(text(one[0]), text(one[1]));
      }
      run(code);
    } finally {
      for (String[] one : given) {
        String name = text(one[0]), value = before.get(name);
        if (value == null) environment.remove(name);
        else environment.put(name, value);
        if (properties.containsKey(name)) System.setProperty(name, properties.getProperty(name));
        else System.clearProperty(name);
      }
    }
  }

  static void run(String code) {
    for (String rest = code; !rest.isBlank();) {
      SourceCodeAnalysis.CompletionInfo next = SHELL.sourceCodeAnalysis().analyzeCompletion(rest);
      String source = next.source() == null ? rest : next.source();
      for (SnippetEvent event : SHELL.eval(source)) if (event.causeSnippet() == null && !tell(event)) return;
      rest = next.source() == null ? "" : next.remaining();
    }
  }

  static boolean tell(SnippetEvent event) {
    told.keySet().retainAll(Set.of("count"));
    Snippet snippet = event.snippet();
    if (event.exception() instanceof EvalException thrown) {
      StringWriter trace = new StringWriter();
      thrown.printStackTrace(new PrintWriter(trace));
      return fail(thrown.getExceptionClassName(), thrown.getMessage(), trace.toString());
    }
    if (event.exception() != null) return fail("UnresolvedReference", event.exception().getMessage(), "");
    if (event.status() == Snippet.Status.REJECTED) {
      StringJoiner said = new StringJoiner("\n");
      SHELL.diagnostics(snippet).forEach(one -> said.add(one.getMessage(Locale.ROOT)));
      return fail("CompilationError", said.toString(), snippet.source());
    }
    boolean isValue = snippet.kind() == Snippet.Kind.EXPRESSION || snippet.subKind() == Snippet.SubKind.TEMP_VAR_EXPRESSION_SUBKIND;
    if (!isValue || event.value() == null || event.value().isEmpty()) return true;
    told.put("type", "result");
    told.put("text", event.value());
    return true;
  }

  static boolean fail(String name, String value, String traceback) {
    told.putAll(Map.of("type", "error", "name", name, "value", value == null ? "" : value, "traceback", traceback));
    return false;
  }

  static String text(String hex) {
    byte[] bytes = new byte[hex.length() / 2];
    for (int at = 0; at < bytes.length; at++) bytes[at] = (byte) Integer.parseInt(hex.substring(2 * at, 2 * at + 2), 16);
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
`;

/**
 * Java reads a program's text from a file, in which it looks around: one without a name stands for it.
 * It cannot see the sandbox's limit of memory, and its usual collector would take what the machine has.
 */
export const WITH_SOURCE = [
  "/bin/bash",
  "-c",
  'file=$(mktemp) && printf %s "$1" >"$file" && exec 3<"$file" && rm "$file" && shift && exec java -XX:+UseSerialGC -Dfile.encoding=UTF-8 --add-opens java.base/java.lang=ALL-UNNAMED --add-modules jdk.jshell --source 17 /dev/fd/3 "$@"',
  "bash",
] as const;
