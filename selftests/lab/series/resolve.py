# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""
Resolves conditionals of the C preprocessor. If the result of a condition is known, the
directives are removed, together with the lines that are not compiled. Otherwise the known
parts of the condition are removed.

resolve(text, known) takes the names that are known: True for defined (as 1), False for
not defined. IS_ENABLED(NAME) is the same as defined(NAME). A name that is not in
@known may be either, and its conditional stays.
"""
import re

TOKEN = re.compile(r'\s*(defined|IS_ENABLED|\w+|&&|\|\||[!()]|[<>=]=?|!=)')
DIRECTIVE = re.compile(r'\s*#\s*(ifdef|ifndef|if|elif|else|endif)\b(.*)', re.S)


class Condition:
    """An expression: a truth value, or the text of its unknown part."""

    def __init__(self, text, known):
        self.known = known
        self.tokens, at = [], 0
        text = re.sub(r'/\*.*?\*/', '', text.replace('\\\n', ' ')).strip()
        while at < len(text):
            m = TOKEN.match(text, at)
            if not m:
                raise ValueError(f'condition not understood: {text}')
            self.tokens.append(m[1])
            at = m.end()
        self.value = self.either()
        if self.tokens:
            raise ValueError(f'condition not understood: {text}')

    def take(self, *which):
        if self.tokens and self.tokens[0] in which:
            return self.tokens.pop(0)
        return None

    @staticmethod
    def join(op, parts, decides):
        if decides in parts:
            return decides
        parts = [p for p in parts if p is not (not decides)]
        if not parts:
            return not decides
        if len(parts) == 1:
            return parts[0]
        return f' {op} '.join(f'({p})' if '||' in p and op == '&&' else p for p in parts)

    def either(self):
        parts = [self.both()]
        while self.take('||'):
            parts.append(self.both())
        return self.join('||', parts, True)

    def both(self):
        parts = [self.one()]
        while self.take('&&'):
            parts.append(self.one())
        return self.join('&&', parts, False)

    def one(self):
        if self.take('!'):
            v = self.one()
            if isinstance(v, bool):
                return not v
            return f'!({v})' if re.search(r'[&|<>=]', v) else f'!{v}'
        if self.take('('):
            v = self.either()
            if not self.take(')'):
                raise ValueError('no closing bracket in a condition')
            return v
        how = self.take('defined', 'IS_ENABLED')
        if how:
            inner = self.take('(')
            name = self.tokens.pop(0)
            if inner and not self.take(')'):
                raise ValueError('no closing bracket in a condition')
            return self.known.get(name, f'{how}({name})')
        word = self.tokens.pop(0)
        if self.tokens and re.fullmatch('[<>=]=?|!=', self.tokens[0]):
            return f'{word} {self.tokens.pop(0)} {self.tokens.pop(0)}'
        return self.known.get(word, word)


def condition(kind, rest, known):
    if kind in ('ifdef', 'ifndef'):
        name = rest.split()[0]
        v = known.get(name)
        if v is None:
            return name
        return v if kind == 'ifdef' else not v
    return Condition(rest, known).value


class Level:
    """An open conditional."""

    def __init__(self, live):
        self.outer = live   # the code around it is compiled
        self.kept = False   # one of its directives was written
        self.done = False   # one of its branches is known to be taken
        self.live = live


def lines_of(text):
    """Lines, joined where a backslash continues them."""
    held = ''
    for line in text.splitlines(keepends=True):
        held += line
        if not line.endswith('\\\n'):
            yield held
            held = ''
    if held:
        yield held


def resolve(text, known):
    out, open_ = [], []
    gone = False
    for line in lines_of(text):
        m = DIRECTIVE.match(line)
        live = open_[-1].live if open_ else True
        if not m:
            if live:
                out.append(line)
            continue
        kind, rest = m[1], m[2]
        if kind in ('if', 'ifdef', 'ifndef'):
            level = Level(live)
            open_.append(level)
            if not live:
                continue
            v = condition(kind, rest, known)
            if isinstance(v, bool):
                level.live = level.done = v
                gone = True
            else:
                level.kept = True
                out.append(line if kind != 'if' or unchanged(rest, v) else f'#if {v}\n')
            continue
        level = open_[-1]
        if not level.outer:
            if kind == 'endif':
                open_.pop()
            continue
        if kind == 'endif':
            open_.pop()
            if level.kept:
                out.append(line)
            continue
        if level.done:
            level.live = False
            continue
        v = True if kind == 'else' else condition(kind, rest, known)
        if v is False:
            level.live = False
            gone = True
            continue
        level.live = True
        if v is True:
            level.done = True
            if level.kept:
                out.append('#else' + (rest if kind == 'else' else '\n'))
            continue
        out.append(f'#{"elif" if level.kept else "if"} {v}\n')
        level.kept = True
    if open_:
        raise ValueError('a conditional is not closed')
    done = ''.join(out)
    return re.sub(r'\n\n\n+', '\n\n', done) if gone else done


def unchanged(rest, value):
    return re.sub(r'[\s\\]', '', rest) == re.sub(r'\s', '', value)
