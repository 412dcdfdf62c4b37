import { LONGEST_FORM, TOO_LONG } from "./longest-form.ts";

/**
 * Cells of Perl. A cell is evaluated by itself, so what it declares with `my` at the start of a line
 * is declared for all cells. What the mark carries is told in `translate.ts`.
 */
export const perlRunner = (mark: string): string => String.raw`
sub __run { eval $_[0] }
open(our $__cells, "<&", \*STDIN) or die; open(STDIN, "<", "/dev/null");
select(STDERR); $| = 1; select(STDOUT); $| = 1;
our $__count = 0; our $__running = 0;
$SIG{INT} = sub { die "interrupted\n" if $__running };
sub __form {
  my %told = @_;
  join "&", map { my $v = $told{$_}; utf8::encode($v) if utf8::is_utf8($v); $v =~ s/([^A-Za-z0-9_.~-])/sprintf("%%%02X", ord $1)/ge; "$_=$v" } sort keys %told;
}
sub __shown {
  my $value = shift;
  return "$value" unless ref $value && eval { require Data::Dumper; 1 };
  my $dumper = Data::Dumper->new([$value])->Terse(1)->Indent(1)->Sortkeys(1);
  my $text = $dumper->Dump; chomp $text; $text;
}
sub __cell {
  my ($code, @given) = split / /, shift;
  $code = pack "H*", $code;
  my %given = map { map { pack "H*", $_ } split /=/, $_, 2 } @given;
  my %before = map { $_ => $ENV{$_} } keys %given;
  $ENV{$_} = $given{$_} // "" for keys %given;
  my $isSaid = $code =~ /(?:^|[;\n])\s*(?:print|printf|say|use|no|sub|package|require|our|my|local|for|foreach|while|until|if|unless|return|\})[^;\n]*;?\s*\z/;
  $code =~ s/^my\b/our/mg;
  $__running = 1;
  my $value = __run($code);
  my $error = $@;
  $__running = 0;
  defined $before{$_} ? ($ENV{$_} = $before{$_}) : delete $ENV{$_} for keys %before;
  my @count = (count => ++$__count);
  if ($error) {
    my $text = "$error"; my ($value) = $text =~ /\A(.*)/;
    return __form(@count, type => "error", name => ref $error || "Error", value => $value, traceback => $text);
  }
  return __form(@count) if $isSaid || !defined $value;
  return __form(@count, type => "result", text => __shown($value));
}
while (defined(my $line = <$__cells>)) {
  chomp $line;
  my $told = __cell($line);
  if (length $told > ${LONGEST_FORM}) {
    my $value = sprintf "${TOO_LONG}", length($told) >> 20;
    $told = __form(count => $__count, type => "error", name => "ResultTooLong", value => $value, traceback => "");
  }
  print STDOUT "${mark} $told\n";
  print STDERR "${mark} $__count\n";
}
`;
