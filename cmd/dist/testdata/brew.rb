# A small Homebrew: it installs a formula from the files of a release, as `brew install` does, and runs its test.
#
#   ruby brew.rb FORMULA RELEASE PREFIX
#
# The archive is the one that the formula names for this system; it is taken from RELEASE in place of its address, and its
# checksum has to be right.
require "digest"
require "fileutils"
require "open3"
require "tmpdir"

FORMULA, RELEASE, PREFIX = ARGV
ARM = RUBY_PLATFORM.start_with?("aarch64", "arm64")
MAC = RUBY_PLATFORM.include?("darwin")

# Place is a folder that takes files, also under other names.
Place = Struct.new(:path) do
  def install(*files)
    FileUtils.mkdir_p(path)
    files.flatten.each do |f|
      pairs = f.is_a?(Hash) ? f : { f => File.basename(f) }
      pairs.each do |from, to|
        raise "#{from} is not in the archive" unless File.file?(from)
        FileUtils.mv(from, File.join(path, to))
      end
    end
  end

  def to_s = path
end

class Formula
  class << self
    attr_reader :values, :check

    %i[desc homepage version license url sha256].each do |name|
      define_method(name) do |*value|
        @values ||= {}
        value.empty? ? @values[name] : @values[name] = value.first
      end
    end
    def on_macos = MAC && yield
    def on_linux = !MAC && yield
    def on_arm = ARM && yield
    def on_intel = !ARM && yield
    def test(&block) = @check = block
  end

  { bin: "bin", man1: "share/man/man1", bash_completion: "etc/bash_completion.d", zsh_completion: "share/zsh/site-functions",
    fish_completion: "share/fish/vendor_completions.d" }.each { |name, path| define_method(name) { Place.new(File.join(PREFIX, path)) } }

  def version = self.class.version

  def shell_output(command)
    out, status = Open3.capture2e(command)
    raise "#{command}: #{out}" unless status.success?
    out
  end

  def assert_match(want, got)
    raise "got #{got}, want #{want} in it" unless got.match?(Regexp.new(Regexp.escape(want)))
  end
end

load FORMULA
%i[desc homepage version license url sha256].each { |name| raise "the formula has no #{name}" unless Sallyport.values[name] }
archive = File.join(RELEASE, File.basename(Sallyport.url))
raise "#{archive}: wrong checksum" unless Digest::SHA256.file(archive).hexdigest == Sallyport.sha256
Dir.mktmpdir do |dir|
  raise "tar" unless system("tar", "-xzf", archive, "-C", dir)
  Dir.chdir(dir) { Sallyport.new.install }
end
Sallyport.new.instance_eval(&Sallyport.check)
