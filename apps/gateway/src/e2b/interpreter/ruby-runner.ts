import { LONGEST_FORM, TOO_LONG } from "./longest-form.ts";

/** Cells of Ruby, all in one place, so that their names stay. What the mark carries is told in `translate.ts`. */
export const rubyRunner = (mark: string): string => String.raw`
require "uri"
def __serve(place)
  cells = $stdin.dup
  $stdin.reopen("/dev/null")
  $stdout.sync = $stderr.sync = true
  running = false
  trap("INT") { Thread.main.raise(Interrupt, "interrupted") if running }
  count = 0
  cells.each_line do |line|
    code, *given = line.chomp.split(" ")
    text = ->(hex) { [hex.to_s].pack("H*").force_encoding("UTF-8") }
    given = given.map { |one| one.split("=", 2).map(&text) }.to_h
    before = given.keys.map { |name| [name, ENV[name]] }.to_h
    told = { count: count += 1 }
    begin
      given.each { |name, value| ENV[name] = value }
      running = true
      value = place.eval(text[code], "cell", 1)
      running = false
      told.update(type: "result", text: value.is_a?(String) ? value : value.inspect) unless value.nil?
    rescue SystemExit
      raise
    rescue Exception => error
      running = false
      message = error.full_message(highlight: false, order: :top)
      told.update(type: "error", name: error.class.name.to_s, value: error.message, traceback: message)
    ensure
      before.each { |name, value| ENV[name] = value }
    end
    form = URI.encode_www_form(told)
    if form.bytesize > ${LONGEST_FORM}
      value = format("${TOO_LONG}", form.bytesize >> 20)
      form = URI.encode_www_form(count: count, type: "error", name: "ResultTooLong", value: value, traceback: "")
    end
    $stdout.write("${mark} #{form}\n")
    $stderr.write("${mark} #{count}\n")
  end
end
__serve(TOPLEVEL_BINDING)
`;
